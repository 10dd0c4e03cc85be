import Foundation

Thread.sleep(forTimeInterval: 60)
