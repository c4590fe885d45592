//go:build v05

package main

const profileName = "adk-go-0.5"
