package testing

import (
	"context"
	"net/url"
	"path/filepath"
	"strconv"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	restclient "k8s.io/client-go/rest"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/test/utils/ktesting"
)

// NotForUs ends a test that asks for what only a server in its own process can have.
const NotForUs = "not for a server in a process of its own: %s"

// StartTestServer starts our server in the place of kube-apiserver.
func StartTestServer(t ktesting.TB, instance *TestServerInstanceOptions, customFlags []string, storage *storagebackend.Config) (result TestServer, err error) {
	version := ""
	if instance != nil {
		version = instance.BinaryVersion
	}
	asked, gates, err := NewOptions(version)
	if err != nil {
		return result, err
	}
	asked.ServiceClusterIPRanges = "10.0.0.0/16"
	if storage != nil {
		asked.Etcd.StorageConfig = *storage
		result.EtcdStoragePrefix = storage.Prefix
	}
	if err := parse(asked, customFlags); err != nil {
		return result, err
	}
	KeepGates(t, gates)
	flags, refusal := FlagsFor(asked)
	if refusal != "" {
		t.Skipf(NotForUs, refusal)
	}
	known, err := KnownTokens(asked)
	if err != nil {
		return result, err
	}
	ours := StartPlimsoll(t, flags)
	if address, err := url.Parse(ours.Config.Host); err == nil {
		asked.SecureServing.BindPort, _ = strconv.Atoi(address.Port())
	}
	asked.SecureServing.ServerCert.CertKey.CertFile = ours.CAFile
	asked.Authentication.ClientCert.ClientCA = filepath.Join(ours.Dir, "data", "pki", "ca.crt")
	result.ClientConfig = restclient.CopyConfig(ours.Config)
	ActAs(result.ClientConfig, known)
	result.ServerOpts = asked
	result.TmpDir = ours.Dir
	result.EtcdClient = clientv3.NewCtxClient(context.Background())
	result.EtcdClient.KV = noEtcd{}
	result.TearDownFn = ours.Stop
	return result, nil
}

// NewOptions are kube-apiserver's, with feature gates of their own that begin as those of the test.
func NewOptions(binaryVersion string) (*options.ServerRunOptions, featuregate.FeatureGate, error) {
	asked := options.NewServerRunOptions()
	gates := utilfeature.DefaultMutableFeatureGate.DeepCopy()
	version := compatibility.DefaultKubeEffectiveVersionForTest()
	if binaryVersion != "" {
		version = basecompatibility.NewEffectiveVersionFromString(binaryVersion, "", "")
	}
	version.SetEmulationVersion(gates.EmulationVersion())
	version.SetMinCompatibilityVersion(gates.MinCompatibilityVersion())
	registry := basecompatibility.NewComponentGlobalsRegistry()
	if err := registry.Register(basecompatibility.DefaultKubeComponent, version, gates); err != nil {
		return nil, nil, err
	}
	asked.GenericServerRunOptions.ComponentGlobalsRegistry = registry
	return asked, gates, nil
}

func parse(asked *options.ServerRunOptions, flags []string) error {
	known := pflag.NewFlagSet("test", pflag.ContinueOnError)
	for _, some := range asked.Flags().FlagSets {
		known.AddFlagSet(some)
	}
	if err := known.Parse(flags); err != nil {
		return err
	}
	return asked.GenericServerRunOptions.ComponentGlobalsRegistry.Set()
}

// KeepGates tells the controllers that the test runs in its process which gates it asked for.
func KeepGates(t ktesting.TB, gates featuregate.FeatureGate) {
	changed := map[featuregate.Feature]bool{}
	for feature := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if gates.Enabled(feature) != utilfeature.DefaultFeatureGate.Enabled(feature) {
			changed[feature] = gates.Enabled(feature)
		}
	}
	if len(changed) > 0 {
		featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, changed)
	}
}
