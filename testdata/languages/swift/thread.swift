import Foundation

let done = DispatchSemaphore(value: 0)
let thread = Thread {
    print("from a thread")
    done.signal()
}
thread.start()
done.wait()
