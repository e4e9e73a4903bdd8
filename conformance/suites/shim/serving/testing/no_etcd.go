package testing

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
)

var errNoEtcd = errors.New("there is no etcd behind our API server")

// noEtcd is what a test gets that would read or write behind the server's back.
type noEtcd struct{}

func (noEtcd) Put(context.Context, string, string, ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	return nil, errNoEtcd
}

func (noEtcd) Get(context.Context, string, ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return nil, errNoEtcd
}

func (noEtcd) Delete(context.Context, string, ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	return nil, errNoEtcd
}

func (noEtcd) Compact(context.Context, int64, ...clientv3.CompactOption) (*clientv3.CompactResponse, error) {
	return nil, errNoEtcd
}

func (noEtcd) Do(context.Context, clientv3.Op) (clientv3.OpResponse, error) {
	return clientv3.OpResponse{}, errNoEtcd
}

func (noEtcd) Txn(context.Context) clientv3.Txn { panic(errNoEtcd) }
