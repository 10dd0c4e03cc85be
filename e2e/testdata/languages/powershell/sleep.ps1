Start-Sleep 60
