package framework

import (
	"context"
	"net/http"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	genericapiserver "k8s.io/apiserver/pkg/server"
	client "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	shim "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"
	"k8s.io/kubernetes/pkg/controlplane"
	controlplaneapiserver "k8s.io/kubernetes/pkg/controlplane/apiserver"
)

// startEtcd starts none: our server has its own store.
func startEtcd(klog.Logger, bool) (func(), error) { return func() {}, nil }

// StartTestServer starts our server in the place of kube-apiserver.
func StartTestServer(_ context.Context, t testing.TB, setup TestServerSetup) (client.Interface, *rest.Config, TearDownFunc) {
	t.Helper()
	asked, gates, err := shim.NewOptions("")
	if err != nil {
		t.Fatal(err)
	}
	if asked.ServiceAccountSigningKeyFile, err = shim.SigningKeyFile(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	asked.ServiceClusterIPRanges = "10.0.0.0/24"
	asked.Authorization.Modes = []string{"Node", "RBAC"}
	if setup.ModifyServerRunOptions != nil {
		setup.ModifyServerRunOptions(asked)
	}
	shim.KeepGates(t, gates)
	known, err := shim.KnownTokens(asked)
	if err != nil {
		t.Fatal(err)
	}
	inside, readsStore := changedInside(setup)
	if _, ours := inside.Authentication.Authenticator.(nobody); !ours {
		known = inside.Authentication.Authenticator
	}
	if readsStore {
		// Such an authorizer looks for roles in the store, as our server does.
		asked.Authorization.Modes = []string{"RBAC"}
	}
	flags, refusal := shim.FlagsFor(asked)
	if inside.AdmissionControl != nil {
		refusal = "an admission plugin of the test's own"
	}
	if refusal != "" {
		t.Skipf(shim.NotForUs, refusal)
	}
	ours := shim.StartPlimsoll(t, flags)
	config := rest.CopyConfig(ours.Config)
	config.CAFile, config.CAData = ours.CAFile, nil
	shim.ActAs(config, known)
	return client.NewForConfigOrDie(config), config, ours.Stop
}

// changedInside is what a test would change inside of kube-apiserver. An authorizer of its own can
// only allow more: without it, what should be refused still is. One that is to read the store, which
// is not there, ends the changes.
func changedInside(setup TestServerSetup) (inside *genericapiserver.Config, readsStore bool) {
	inside = &genericapiserver.Config{}
	config := &controlplane.Config{ControlPlane: controlplaneapiserver.Config{Generic: inside}}
	inside.LoopbackClientConfig = &rest.Config{}
	inside.Authentication.Authenticator = nobody{}
	defer func() { readsStore = recover() != nil }()
	if setup.ModifyServerConfig != nil {
		setup.ModifyServerConfig(config)
	}
	return inside, false
}

// nobody knows no user.
type nobody struct{}

func (nobody) AuthenticateRequest(*http.Request) (*authenticator.Response, bool, error) {
	return nil, false, nil
}
