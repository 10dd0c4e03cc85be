import Foundation

let numbers = try JSONDecoder().decode([Int].self, from: Data("[1, 2]".utf8))
print("json", numbers.reduce(0, +))
print("regex", "the year 2026 in a text".firstMatch(of: #/\d{4}/#)!.output)
let noon = Date(timeIntervalSince1970: 1_767_268_800)
let clock = DateFormatter()
clock.dateFormat = "HH:mm"
clock.timeZone = TimeZone(identifier: "Asia/Tokyo")
print("zone", clock.string(from: noon))
print("random", (1...6).contains(Int.random(in: 1...6)) ? "ok" : "bad")
let name = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
try "temp ok".write(to: name, atomically: true, encoding: .utf8)
print(try String(contentsOf: name, encoding: .utf8))
try FileManager.default.removeItem(at: name)
