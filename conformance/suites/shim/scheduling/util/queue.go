package util

import (
	"context"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clientset "k8s.io/client-go/kubernetes"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

const (
	// toTry is how long our scheduler has for a pod that a test wants to be tried.
	toTry = 30 * time.Second
	// toReact is how long it has after a change, before the test looks which pods are tried again.
	toReact = 500 * time.Millisecond
)

// observedQueue answers for the queue of our scheduler, by the pods of the API server and by the
// attempts that our scheduler logs. A test has each pod tried once; ours then tries a pod at once
// which upstream's would only queue. So a pod is in the active queue if it was tried again; but not
// if it was woken only because another pod got a node in such a way, which in the test never does.
type observedQueue struct {
	internalqueue.SchedulingQueue
	client clientset.Interface
	ours   *plimsoll
	mutex  sync.Mutex
	asked  int
}

// scheduleOne lets our scheduler begin, and waits until as many pods were tried as were asked for.
func (q *observedQueue) scheduleOne() {
	q.mutex.Lock()
	q.asked++
	asked := q.asked
	q.mutex.Unlock()
	q.ours.begin(q.hasNodes())
	for deadline := time.Now().Add(toTry); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if len(q.ours.attempts()) >= asked {
			return
		}
		select {
		case <-q.ours.exited:
			time.Sleep(time.Second)
			return
		default:
		}
	}
}

func (q *observedQueue) hasNodes() bool {
	list, err := q.client.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{Limit: 1})
	return err == nil && len(list.Items) > 0
}

func (q *observedQueue) PendingPods() ([]*v1.Pod, string) {
	list, err := q.client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil, err.Error()
	}
	pending := pendingPods(list.Items)
	return pending, fmt.Sprintf("%d pods without a node", len(pending))
}

func (q *observedQueue) PodsInActiveQ() []*v1.Pod {
	list, err := q.client.CoreV1().Pods("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return nil
	}
	if !q.ours.hasBegun() {
		return withoutGates(pendingPods(list.Items))
	}
	time.Sleep(toReact)
	tries := q.ours.tries()
	var active []*v1.Pod
	for i, pod := range list.Items {
		if tries[pod.Namespace+"/"+pod.Name] > 1 {
			active = append(active, &list.Items[i])
		}
	}
	return active
}

func withoutGates(pods []*v1.Pod) []*v1.Pod {
	var found []*v1.Pod
	for _, pod := range pods {
		if len(pod.Spec.SchedulingGates) == 0 {
			found = append(found, pod)
		}
	}
	return found
}

// GetPod tells by which plugins the pod was turned away last.
func (q *observedQueue) GetPod(name, namespace string) (*framework.QueuedPodInfo, bool) {
	pod, err := q.client.CoreV1().Pods(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil || pod.Spec.NodeName != "" {
		return nil, false
	}
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, false
	}
	plugins := sets.New[string]()
	for _, attempt := range q.ours.attempts() {
		if attempt.Pod == namespace+"/"+name {
			plugins = sets.New(attempt.Rules...)
		}
	}
	return &framework.QueuedPodInfo{PodInfo: info, UnschedulablePlugins: plugins}, true
}
