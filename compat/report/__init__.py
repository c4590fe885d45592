"""What a person or a machine reads: verdict types in, text or JSON out."""
