"""The codec and the stores of checkpoints, against what nobody wrote on purpose."""
