import Foundation

func must(_ ok: Bool) { precondition(ok) }

let files = FileManager.default
try "hello".write(toFile: "a.txt", atomically: true, encoding: .utf8)
let end = FileHandle(forWritingAtPath: "a.txt")!
try end.seekToEnd()
try end.write(contentsOf: Data(", world".utf8))
try end.synchronize()
try end.close()
try files.moveItem(atPath: "a.txt", toPath: "b.txt")
try files.createDirectory(atPath: "d/e", withIntermediateDirectories: true)
try Data(contentsOf: URL(fileURLWithPath: "b.txt")).write(to: URL(fileURLWithPath: "d/b.txt"))
try files.createSymbolicLink(atPath: "d/soft", withDestinationPath: "b.txt")
try files.linkItem(atPath: "b.txt", toPath: "d/hard")
must(try files.destinationOfSymbolicLink(atPath: "d/soft") == "b.txt")
must(try String(contentsOfFile: "d/soft", encoding: .utf8) == "hello, world")
try files.setAttributes([.posixPermissions: 0o640, .modificationDate: Date(timeIntervalSince1970: 2)], ofItemAtPath: "b.txt")
let attributes = try files.attributesOfItem(atPath: "b.txt")
precondition(attributes[.size] as? NSNumber == 12 && attributes[.modificationDate] as? Date == Date(timeIntervalSince1970: 2))
must(try files.contentsOfDirectory(atPath: "d").sorted() == ["b.txt", "e", "hard", "soft"])
precondition(files.changeCurrentDirectoryPath("d") && files.currentDirectoryPath == "/box/d")
precondition(files.changeCurrentDirectoryPath(".."))
let mapped = try Data(contentsOf: URL(fileURLWithPath: "b.txt"), options: .alwaysMapped)
precondition(mapped[0] == 104 && files.isWritableFile(atPath: "b.txt"))
try files.removeItem(atPath: "d")
try files.removeItem(atPath: "b.txt")
precondition(!files.fileExists(atPath: "d"))
print("files ok")
