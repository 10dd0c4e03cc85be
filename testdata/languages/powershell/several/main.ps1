. $PSScriptRoot/other.ps1
"7 $text"
