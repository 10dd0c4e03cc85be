# Runs the cases of Pester below the working directory, and writes their report. Pester is a module among the
# files of the suite, or one of the image.
param([string]$Report)
$own = Get-ChildItem -Path . -Filter Pester.psd1 -Recurse -File | Select-Object -First 1
$name = if ($own) { $own.FullName } else { 'Pester' }
try { Import-Module $name -ErrorAction Stop }
catch {
    [Console]::Error.WriteLine("brig: Pester cannot be loaded: $_. Send its module with the tests (a directory Pester with Pester.psd1), or use an image that has it.")
    exit 3
}
$c = New-PesterConfiguration
$c.Run.Path = '.'
$c.Run.Exit = $true
$c.TestResult.Enabled = $true
$c.TestResult.OutputFormat = 'JUnitXml'
$c.TestResult.OutputPath = $Report
Invoke-Pester -Configuration $c
