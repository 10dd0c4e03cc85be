import Foundation
print("processors", ProcessInfo.processInfo.activeProcessorCount)
