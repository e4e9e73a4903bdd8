package scheduler

import (
	"time"

	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
)

// Wanted is what a test asks of its scheduler by options.
type Wanted struct {
	Profiles              []schedulerapi.KubeSchedulerProfile
	InitialBackoffSeconds int64
	MaxBackoffSeconds     int64
	// IsUsual: it asks for nothing in particular.
	IsUsual bool
	// OwnPlugins: it has some, in its process.
	OwnPlugins bool
	// NeedsTheProcess says which option only a scheduler inside the test's process can have.
	NeedsTheProcess string
}

// WantedBy reads options, which nothing else can see.
func WantedBy(opts ...Option) Wanted {
	options := defaultSchedulerOptions
	options.profiles = nil
	var none time.Duration
	options.podMaxInUnschedulablePodsDuration = none
	for _, opt := range opts {
		opt(&options)
	}
	wanted := Wanted{
		Profiles:              options.profiles,
		InitialBackoffSeconds: options.podInitialBackoffSeconds,
		MaxBackoffSeconds:     options.podMaxBackoffSeconds,
		OwnPlugins:            len(options.frameworkOutOfTreeRegistry) > 0,
	}
	wanted.IsUsual = len(options.profiles) == 0 &&
		options.podInitialBackoffSeconds == defaultSchedulerOptions.podInitialBackoffSeconds &&
		options.podMaxBackoffSeconds == defaultSchedulerOptions.podMaxBackoffSeconds
	switch {
	case len(options.extenders) > 0:
		wanted.NeedsTheProcess = "extenders"
	case options.podMaxInUnschedulablePodsDuration != none:
		wanted.NeedsTheProcess = "another time after which pods are tried again"
	}
	return wanted
}
