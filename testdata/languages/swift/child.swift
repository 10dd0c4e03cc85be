import Foundation

let child = Process()
let pipe = Pipe()
child.executableURL = URL(fileURLWithPath: "/usr/bin/echo")
child.arguments = ["from a child"]
child.standardOutput = pipe
try child.run()
let said = pipe.fileHandleForReading.readDataToEndOfFile()
child.waitUntilExit()
print(String(decoding: said, as: UTF8.self), terminator: "")
exit(child.terminationStatus)
