//go:build v04

package adk

const profileName = "adk-go-0.4"
