struct Boom: Error { let text: String }

func fail() throws { throw Boom(text: "boom") }

try fail()
