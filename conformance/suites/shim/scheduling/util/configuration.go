package util

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	kubeschedulerconfigv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	configtesting "k8s.io/kubernetes/pkg/scheduler/apis/config/testing"
)

// alwaysThere are plugins that our scheduler cannot be without. A test that names all the plugins it
// wants gets them as well: none of those has pods with gates or with claims that are not bound.
var alwaysThere = []string{"SchedulingGates", "VolumeBinding"}

// noBackoff cannot be said in a file, where it must be more than nothing.
var noBackoff = []string{"PLIMSOLL_SCHEDULER_POD_INITIAL_BACKOFF=0s", "PLIMSOLL_SCHEDULER_POD_MAX_BACKOFF=0s"}

func writeConfiguration(t *testing.T, wanted scheduler.Wanted, dir string) string {
	name := filepath.Join(dir, "configuration.yaml")
	if err := os.WriteFile(name, []byte(configuration(t, wanted)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// configuration says in a file what the test says by options.
func configuration(t *testing.T, wanted scheduler.Wanted) string {
	full := configtesting.V1ToInternalWithDefaults(t, kubeschedulerconfigv1.KubeSchedulerConfiguration{})
	if len(wanted.Profiles) > 0 {
		full.Profiles = nil
	}
	for _, profile := range wanted.Profiles {
		full.Profiles = append(full.Profiles, completed(profile))
	}
	if wanted.MaxBackoffSeconds > 0 {
		full.PodInitialBackoffSeconds = wanted.InitialBackoffSeconds
		full.PodMaxBackoffSeconds = wanted.MaxBackoffSeconds
	}
	full.LeaderElection.LeaderElect = false
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeYAML)
	text, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, kubeschedulerconfigv1.SchemeGroupVersion), full)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func completed(profile schedulerapi.KubeSchedulerProfile) schedulerapi.KubeSchedulerProfile {
	plugins := *profile.Plugins
	profile.Plugins = &plugins
	for _, name := range alwaysThere {
		if !names(plugins.MultiPoint.Enabled)[name] && names(plugins.MultiPoint.Disabled)["*"] {
			enabled := append([]schedulerapi.Plugin{}, plugins.MultiPoint.Enabled...)
			plugins.MultiPoint.Enabled = append(enabled, schedulerapi.Plugin{Name: name})
		}
	}
	return profile
}

func names(plugins []schedulerapi.Plugin) map[string]bool {
	found := map[string]bool{}
	for _, each := range plugins {
		found[each.Name] = true
	}
	return found
}
