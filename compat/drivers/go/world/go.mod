module refengine/world

go 1.22
