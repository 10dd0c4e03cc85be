System.Threading.Thread.Sleep 60000
