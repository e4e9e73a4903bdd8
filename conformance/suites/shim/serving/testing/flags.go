package testing

import (
	"fmt"
	"strings"

	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// ourModes are those in which our server can be asked who may do what.
var ourModes = map[string]bool{"AlwaysAllow": true, "AlwaysDeny": true, "Node": true, "RBAC": true}

// FlagsFor says in flags of our server what a test asks of kube-apiserver, or why it cannot be said.
// Feature gates are not among them: our server behaves as the default gates say.
func FlagsFor(asked *options.ServerRunOptions) (flags []string, refusal string) {
	if refusal := refused(asked); refusal != "" {
		return nil, refusal
	}
	plugins := asked.Admission.GenericAdmission
	flags = withNames(flags, "--disable-admission-plugins", plugins.DisablePlugins)
	flags = withNames(flags, "--enable-admission-plugins", plugins.EnablePlugins)
	modes := asked.Authorization.Modes
	if len(modes) == 0 {
		modes = []string{"AlwaysAllow"}
	}
	flags = withNames(flags, "--authorization-mode", modes)
	if ranges := strings.Split(asked.ServiceClusterIPRanges, ","); ranges[0] != "" {
		flags = append(flags, "--service-cluster-ip-range="+ranges[0])
	}
	if audit := asked.Audit; audit.PolicyFile != "" && audit.LogOptions.Path != "" {
		flags = append(flags, "--audit-policy-file="+audit.PolicyFile, "--audit-log-path="+audit.LogOptions.Path)
	}
	return flags, ""
}

func refused(asked *options.ServerRunOptions) string {
	for _, mode := range asked.Authorization.Modes {
		if !ourModes[mode] {
			return fmt.Sprintf("authorization mode %s", mode)
		}
	}
	authentication := asked.Authentication
	switch {
	case asked.Authorization.AuthorizationConfigurationFile != "":
		return "a file that configures authorization"
	case authentication.AuthenticationConfigFile != "":
		return "a file that configures authentication"
	case authentication.WebHook != nil && authentication.WebHook.ConfigFile != "":
		return "a webhook that authenticates"
	case asked.ServiceAccountSigningEndpoint != "":
		return "another process that signs tokens"
	case asked.Etcd.EncryptionProviderConfigFilepath != "":
		return "a file that configures encryption"
	case asked.Admission.GenericAdmission.ConfigFile != "":
		return "a file that configures admission plugins"
	}
	return ""
}

func withNames(flags []string, flag string, names []string) []string {
	if len(names) == 0 {
		return flags
	}
	return append(flags, flag+"="+strings.Join(names, ","))
}
