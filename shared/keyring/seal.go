package keyring

import (
	"context"
	"errors"

	"github.com/holdfast-a2a/holdfast/shared/seal"
)

var _ seal.Sealer = (*Ring)(nil)

func (r *Ring) sealer(ctx context.Context) (*seal.Keys, error) {
	keys, err := r.keys(ctx, Seal)
	if err != nil {
		return nil, err
	}
	all := make([]seal.Key, len(keys))
	for i, k := range keys {
		all[i] = seal.Key{ID: k.name, Secret: k.seed}
	}
	return seal.NewKeys(all[0], all[1:]...)
}

// Seal implements seal.Sealer, with the newest key.
func (r *Ring) Seal(ctx context.Context, plain []byte, bound string) ([]byte, error) {
	keys, err := r.sealer(ctx)
	if err != nil {
		return nil, err
	}
	return keys.Seal(ctx, plain, bound)
}

// Open implements seal.Sealer, with any key. One that is not known was made by another
// process since this one has looked.
func (r *Ring) Open(ctx context.Context, sealed []byte, bound string) ([]byte, error) {
	for looked := false; ; looked = true {
		keys, err := r.sealer(ctx)
		if err != nil {
			return nil, err
		}
		plain, err := keys.Open(ctx, sealed, bound)
		if looked || !errors.Is(err, seal.ErrKey) {
			return plain, err
		}
		r.again()
	}
}
