// Package enginetest holds the conformance suite of engine.Engine: what every
// engine has to do, checked with the real worker on a real kernel.
package enginetest
