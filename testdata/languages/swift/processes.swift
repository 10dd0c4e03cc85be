import Foundation

func start(_ words: [String]) -> pid_t {
    var pid = pid_t()
    var argv = words.map { strdup($0) } + [nil]
    precondition(posix_spawnp(&pid, words[0], nil, nil, &argv, environ) == 0)
    return pid
}

func status(_ pid: pid_t) -> Int32 {
    var status: Int32 = 0
    precondition(waitpid(pid, &status, 0) == pid)
    return status
}

precondition(status(start(["sh", "-c", "exit 3"])) == 3 << 8)
let sleeper = start(["sleep", "9"])
precondition(kill(sleeper, SIGTERM) == 0 && status(sleeper) == SIGTERM)
let input = Pipe(), output = Pipe()
let cat = Process()
cat.executableURL = URL(fileURLWithPath: "/usr/bin/cat")
cat.standardInput = input
cat.standardOutput = output
try cat.run()
try input.fileHandleForWriting.write(contentsOf: Data("through".utf8))
try input.fileHandleForWriting.close()
precondition(output.fileHandleForReading.readDataToEndOfFile() == Data("through".utf8))
cat.waitUntilExit()
precondition(cat.terminationReason == .exit && cat.terminationStatus == 0)

let sum = await withTaskGroup(of: Int.self) { group in
    for n in 1...4 { group.addTask { 2 * n } }
    var sum = 0
    for await n in group { sum += n }
    return sum
}
precondition(sum == 20)
actor Counter {
    var n = 0
    func add() { n += 1 }
}
let counter = Counter()
await counter.add()
try await Task.sleep(nanoseconds: 1_000_000)
let n = await counter.n
precondition(n == 1 && ProcessInfo.processInfo.processIdentifier > 0)
let rang = DispatchSemaphore(value: 0)
let timer = DispatchSource.makeTimerSource()
timer.schedule(deadline: .now() + 0.01)
timer.setEventHandler { rang.signal() }
timer.resume()
func waited() -> Bool { rang.wait(timeout: .now() + 5) == .success }
precondition(waited())
DispatchQueue.concurrentPerform(iterations: 4) { _ in }
print("processes ok")
