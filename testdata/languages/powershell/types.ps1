param([int]$Count = 3, [switch]$Loud)
$ErrorActionPreference = 'Stop'
function Must($ok, $what) { if (-not $ok) { throw $what } }

class Point {
    [int]$X; [int]$Y
    Point([int]$x, [int]$y) { $this.X = $x; $this.Y = $y }
    [int] Sum() { return $this.X + $this.Y }
}

Must ($Count -eq 3 -and -not $Loud -and $args.Count -eq 0) 'parameters'
Must ([Point]::new(1, 2).Sum() -eq 3) 'classes'
Must ((1..10 | Where-Object { $_ % 2 -eq 0 } | Measure-Object -Sum).Sum -eq 30) 'pipeline'
Must (@{ a = 1; b = 2 }.Keys.Count -eq 2 -and @(([ordered]@{ z = 1; a = 2 }).Keys)[0] -eq 'z') 'tables'
Must ("{0:D5} {1:N2}" -f 42, 1234.5 -eq '00042 1,234.50') 'format'
Must ('one two three' -replace '(\w+) (\w+)', '$2 $1' -eq 'two one three') 'replace'
Must (('b', 'c', 'a' | Sort-Object) -join '' -eq 'abc') 'sort'
Must ($(switch -Regex ('x42') { '\d+' { $Matches[0] } }) -eq '42') 'switch'
Must (0.1 + 0.2 -ne 0.3 -and 0.1d + 0.2d -eq 0.3d) 'decimal'
try { $null = [int]::Parse('x'); Must $false 'exception' } catch [FormatException], [Management.Automation.MethodInvocationException] { }
Must (($x = [xml]'<a><b>1</b></a>').a.b -eq '1') 'xml'
Must ((Get-Date '2026-03-29').DayOfWeek -eq 'Sunday') 'dates'
$null = Get-Item nowhere -ErrorAction SilentlyContinue -ErrorVariable failed
Must ($failed.Count -eq 1) 'errors'
'types ok'
