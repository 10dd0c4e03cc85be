$ErrorActionPreference = 'Stop'
function Must($ok, $what) { if (-not $ok) { throw $what } }

Set-Content a.txt 'hello'
Add-Content a.txt 'world'
Rename-Item a.txt b.txt
New-Item -ItemType Directory d/e | Out-Null
Copy-Item b.txt d/b.txt
New-Item -ItemType SymbolicLink -Path d/link -Target b.txt | Out-Null
Must ((Get-ChildItem d).Count -eq 3) 'list'
Must (((Get-Content d/link) -join ',') -eq 'hello,world') 'link'
1..3 | ForEach-Object { [pscustomobject]@{ n = $_; square = $_ * $_ } } | Export-Csv table.csv
Must ((Import-Csv table.csv)[2].square -eq '9') 'csv'
Must ((Select-String -Path b.txt -Pattern wor).LineNumber -eq 2) 'search'
Push-Location d; Must ((Get-Location).Path -eq '/box/d') 'location'; Pop-Location
Move-Item d moved
Remove-Item -Recurse moved, b.txt, table.csv
Must (-not (Test-Path moved) -and -not (Test-Path b.txt)) 'remove'
'files ok'
