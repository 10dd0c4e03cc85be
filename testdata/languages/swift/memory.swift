var kept: [[UInt8]] = []
while true { kept.append([UInt8](repeating: 1, count: 1_000_000)) }
