//go:build v04

package main

const profileName = "adk-go-0.4"
