package testing

import (
	"net/http"
	"net/url"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// KnownTokens knows the users of the file with tokens that a test asks for; nil if there is none.
func KnownTokens(asked *options.ServerRunOptions) (authenticator.Request, error) {
	file := asked.Authentication.TokenFile
	if file == nil || file.TokenFile == "" {
		return nil, nil
	}
	tokens, err := tokenfile.NewCSV(file.TokenFile)
	if err != nil {
		return nil, err
	}
	return group.NewAuthenticatedGroupAdder(bearertoken.New(tokens)), nil
}

// ActAs has our server answer for the users that the test knows: its clients act as them with the
// administrator's token.
func ActAs(config *rest.Config, known authenticator.Request) {
	if known == nil {
		return
	}
	administrator := config.BearerToken
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &actor{known: known, administrator: administrator, next: next}
	})
}

type actor struct {
	known         authenticator.Request
	administrator string
	next          http.RoundTripper
}

func (a *actor) RoundTrip(request *http.Request) (*http.Response, error) {
	// An authenticator takes from the request what it has understood.
	found, ok, err := a.known.AuthenticateRequest(request.Clone(request.Context()))
	if err != nil || !ok || request.Header.Get(transport.ImpersonateUserHeader) != "" {
		return a.next.RoundTrip(request)
	}
	sent := request.Clone(request.Context())
	sent.Header.Set("Authorization", "Bearer "+a.administrator)
	sent.Header.Set(transport.ImpersonateUserHeader, found.User.GetName())
	if uid := found.User.GetUID(); uid != "" {
		sent.Header.Set(transport.ImpersonateUIDHeader, uid)
	}
	for _, each := range found.User.GetGroups() {
		sent.Header.Add(transport.ImpersonateGroupHeader, each)
	}
	for key, values := range found.User.GetExtra() {
		for _, value := range values {
			sent.Header.Add(transport.ImpersonateUserExtraHeaderPrefix+url.PathEscape(key), value)
		}
	}
	return a.next.RoundTrip(sent)
}
