//go:build v05

package adk

const profileName = "adk-go-0.5"
