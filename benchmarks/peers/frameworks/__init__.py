"""One module a framework: imported only where that framework is measured."""
