Start-ThreadJob { 'from a thread' } -ErrorAction Stop | Receive-Job -Wait
