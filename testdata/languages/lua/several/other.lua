return { text = "from another file" }
