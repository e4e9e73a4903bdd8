package framework

import (
	"context"
	"fmt"
	"testing"

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
	flags, refusal := shim.FlagsFor(asked)
	if refusal == "" {
		refusal = changesInside(setup)
	}
	if refusal != "" {
		t.Skipf(shim.NotForUs, refusal)
	}
	ours := shim.StartPlimsoll(t, flags)
	config := rest.CopyConfig(ours.Config)
	config.CAFile, config.CAData = ours.CAFile, nil
	return client.NewForConfigOrDie(config), config, ours.Stop
}

// changesInside says what a test would change inside of kube-apiserver. An authorizer of its own can
// only allow more: without it, what should be refused still is.
func changesInside(setup TestServerSetup) (change string) {
	if setup.ModifyServerConfig == nil {
		return ""
	}
	defer func() {
		if reason := recover(); reason != nil {
			change = fmt.Sprintf("a configuration inside of kube-apiserver (%v)", reason)
		}
	}()
	config := &controlplane.Config{ControlPlane: controlplaneapiserver.Config{Generic: &genericapiserver.Config{}}}
	config.ControlPlane.Generic.LoopbackClientConfig = &rest.Config{}
	setup.ModifyServerConfig(config)
	inside := config.ControlPlane.Generic
	switch {
	case inside.Authentication.Authenticator != nil:
		return "an authenticator of the test's own"
	case inside.AdmissionControl != nil:
		return "an admission plugin of the test's own"
	}
	return ""
}
