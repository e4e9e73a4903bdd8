package util

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/kubernetes/test/integration/framework"
)

// sharedServer is the API server of all tests that ask for the same feature gates: starting one
// takes longer than most tests. What a test has left in it is deleted before the next. It runs to
// the end: a server that is shut down under other gates than it was started with panics.
type sharedServer struct {
	client clientset.Interface
	config *restclient.Config
}

// servers are by their feature gates.
var servers = map[string]*sharedServer{}

// startServer gives the test the server that is there, if it would start the same.
func startServer(own admission.Interface, ctx context.Context, t *testing.T, setup framework.TestServerSetup) (clientset.Interface, *restclient.Config, framework.TearDownFunc) {
	if own != nil {
		return framework.StartTestServer(ctx, t, setup)
	}
	gates := currentGates()
	server, found := servers[gates]
	if !found {
		// Not in the context of the test, which ends before the server does.
		client, config, _ := framework.StartTestServer(context.Background(), t, setup)
		server = &sharedServer{client: client, config: config}
		servers[gates] = server
	}
	server.empty(t)
	return server.client, restclient.CopyConfig(server.config), func() {}
}

func currentGates() string {
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	told := []string{gates.EmulationVersion().String()}
	for feature := range gates.GetAll() {
		told = append(told, fmt.Sprintf("%s=%t", feature, gates.Enabled(feature)))
	}
	sort.Strings(told[1:])
	return strings.Join(told, ",")
}

// collections can be emptied at once.
type collection interface {
	DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) error
}

func (s *sharedServer) empty(t *testing.T) {
	ctx, client := context.Background(), s.client
	s.deleteAll(t,
		client.CoreV1().Nodes(), client.CoreV1().PersistentVolumes(), client.StorageV1().StorageClasses(),
		client.StorageV1().CSINodes(), client.StorageV1().CSIDrivers(), client.StorageV1().VolumeAttachments(),
	)
	namespaces, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatalf("namespaces of earlier tests cannot be listed: %v", err)
	}
	for i := range namespaces.Items {
		s.emptyNamespace(t, &namespaces.Items[i])
	}
}

func (s *sharedServer) emptyNamespace(t *testing.T, namespace *v1.Namespace) {
	ctx, client, name := context.Background(), s.client, namespace.Name
	if strings.HasPrefix(name, "kube-") {
		return
	}
	RemovePodFinalizersInNamespace(ctx, client, t, name)
	s.deleteAll(t,
		client.CoreV1().Pods(name), client.CoreV1().PersistentVolumeClaims(name),
		client.PolicyV1().PodDisruptionBudgets(name), client.CoreV1().ReplicationControllers(name),
		client.AppsV1().ReplicaSets(name), client.AppsV1().StatefulSets(name),
		client.StorageV1().CSIStorageCapacities(name),
	)
	if name == "default" {
		return
	}
	// No controller of namespaces runs that would end them.
	_ = client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{})
	namespace.Spec.Finalizers, namespace.ResourceVersion = nil, ""
	if _, err := client.CoreV1().Namespaces().Finalize(ctx, namespace, metav1.UpdateOptions{}); err != nil {
		t.Fatalf("namespace %s of an earlier test cannot be ended: %v", name, err)
	}
}

func (s *sharedServer) deleteAll(t *testing.T, collections ...collection) {
	for _, each := range collections {
		if err := each.DeleteCollection(context.Background(), *metav1.NewDeleteOptions(0), metav1.ListOptions{}); err != nil {
			t.Fatalf("what earlier tests left cannot be deleted: %v", err)
		}
	}
}
