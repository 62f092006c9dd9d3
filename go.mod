module github.com/holdfast-a2a/holdfast

go 1.26

require (
	github.com/a2aproject/a2a-go/v2 v2.4.0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/gowebpki/jcs v1.0.2 // indirect
	github.com/theory/jsonpath v0.12.3 // indirect
)
