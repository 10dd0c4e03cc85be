let kept = ResizeArray<byte[]>()
while true do
    let bytes = Array.zeroCreate<byte> 1000000
    for i in 0 .. 4096 .. bytes.Length - 1 do bytes[i] <- 1uy
    kept.Add bytes
