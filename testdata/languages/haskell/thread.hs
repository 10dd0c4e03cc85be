import Control.Concurrent (forkIO, newEmptyMVar, putMVar, takeMVar)

main :: IO ()
main = do
  done <- newEmptyMVar
  _ <- forkIO (putStrLn "from a thread" >> putMVar done ())
  takeMVar done
