$kept = [Collections.Generic.List[byte[]]]::new()
while ($true) {
    $bytes = [byte[]]::new(1000000)
    [Array]::Fill($bytes, [byte]1)
    $kept.Add($bytes)
}
