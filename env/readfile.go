package env

import (
	"context"
	"fmt"
	"io"
)

// ReadFile reads a whole file of at most limit bytes; zero or less means no limit. A longer file
// gives an error that wraps [ErrTooLarge].
func ReadFile(ctx context.Context, e Environment, path string, limit int64) ([]byte, error) {
	f, err := e.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if limit <= 0 {
		return io.ReadAll(f)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes: %w", path, limit, ErrTooLarge)
	}
	return data, nil
}
