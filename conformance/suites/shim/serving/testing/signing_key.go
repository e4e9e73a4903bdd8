package testing

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"os"
	"path/filepath"
	"sync"

	"k8s.io/client-go/util/keyutil"
)

// signingKey signs the tokens of service accounts, those of our server and those of controllers in
// the process of the test.
var signingKey = sync.OnceValues(func() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	return keyutil.MarshalPrivateKeyToPEM(key)
})

func writeSigningKey(name string) error {
	key, err := signingKey()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(name, key, 0o600)
}

// SigningKeyFile is one that the test can read before our server runs.
func SigningKeyFile(dir string) (string, error) {
	name := filepath.Join(dir, "service-account.key")
	return name, writeSigningKey(name)
}
