"json $(('[1,2]' | ConvertFrom-Json | Measure-Object -Sum).Sum)"
"regex $([regex]::Match('the year 2026, I think', '\d{4}').Value)"
"big $([bigint]::Pow(2, 100))"
$noon = [DateTime]::new(2026, 1, 1, 12, 0, 0, [DateTimeKind]::Utc)
"zone $([TimeZoneInfo]::ConvertTimeBySystemTimeZoneId($noon, 'Asia/Tokyo').ToString('HH:mm'))"
"random $(if ((Get-Random -Maximum 6) -lt 6) { 'ok' } else { 'bad' })"
$file = New-TemporaryFile
Set-Content $file 'ok'
"temp $(Get-Content $file)"
Remove-Item $file
