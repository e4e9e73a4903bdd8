package util

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerapi "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// letsEveryPodPass names the tests whose own plugin refuses nothing, so that they ask the same of a
// scheduler without it.
var letsEveryPodPass = []string{
	"TestPreemption/basic_pod_preemption_(Async",
	"TestPreemption/preemption_is_performed_to_satisfy_anti-affinity",
	"TestPreemption/preemption_is_not_performed_when_anti-affinity_is_not_satisfied",
}

// InitTestSchedulerWithOptions runs our scheduler, by the profiles that the test asks for. The
// upstream scheduler is there too and never takes a pod: tests use its informers, its cache and its
// count of events. Ours does nothing before the test begins to schedule.
func InitTestSchedulerWithOptions(t *testing.T, testCtx *TestContext, resyncPeriod time.Duration, opts ...scheduler.Option) *TestContext {
	wanted := scheduler.WantedBy(opts...)
	if wanted.OwnPlugins && refusesNothing(t.Name()) {
		wanted.Profiles = withoutOwnPlugins(wanted.Profiles)
	} else if wanted.OwnPlugins {
		wanted.NeedsTheProcess = "plugins of the test's own"
	}
	if wanted.NeedsTheProcess != "" {
		t.Skipf("not for a scheduler in a process of its own: %s", wanted.NeedsTheProcess)
	}
	testCtx = initUpstreamScheduler(t, testCtx, resyncPeriod, opts...)
	ours := startPlimsoll(t, testCtx.KubeConfig, wanted)
	queue := &observedQueue{SchedulingQueue: testCtx.Scheduler.SchedulingQueue, client: testCtx.ClientSet, ours: ours}
	testCtx.Scheduler.SchedulingQueue = queue
	testCtx.Scheduler.NextPod = func(klog.Logger) (*framework.QueuedPodInfo, error) {
		queue.scheduleOne()
		return nil, nil
	}
	oldCloseFn := testCtx.CloseFn
	testCtx.CloseFn = func() {
		ours.endTest(t)
		oldCloseFn()
	}
	return testCtx
}

func refusesNothing(test string) bool {
	for _, name := range letsEveryPodPass {
		if strings.HasPrefix(test, name) {
			return true
		}
	}
	return false
}

func withoutOwnPlugins(profiles []schedulerapi.KubeSchedulerProfile) []schedulerapi.KubeSchedulerProfile {
	kept := make([]schedulerapi.KubeSchedulerProfile, 0, len(profiles))
	for _, profile := range profiles {
		plugins := *profile.Plugins
		for _, set := range []*schedulerapi.PluginSet{&plugins.PreFilter, &plugins.Filter} {
			set.Enabled = nil
		}
		profile.Plugins = &plugins
		kept = append(kept, profile)
	}
	return kept
}

// pendingPods are those without a node.
func pendingPods(pods []v1.Pod) []*v1.Pod {
	var found []*v1.Pod
	for i := range pods {
		if pods[i].Spec.NodeName == "" {
			found = append(found, &pods[i])
		}
	}
	return found
}
