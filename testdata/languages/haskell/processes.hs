import Control.Concurrent
import Control.Monad (unless)
import System.Exit (ExitCode (..))
import System.Process
import System.Timeout (timeout)

must :: String -> Bool -> IO ()
must what ok = unless ok (error what)

main :: IO ()
main = do
  system "exit 3" >>= must "system" . (== ExitFailure 3)
  readProcess "cat" [] "through" >>= must "pipe" . (== "through")
  (_, _, _, sleeper) <- createProcess (proc "sleep" ["9"])
  terminateProcess sleeper
  waitForProcess sleeper >>= must "terminate" . (== ExitFailure (-15))
  box <- newEmptyMVar
  _ <- forkIO (threadDelay 1000 >> putMVar box True)
  takeMVar box >>= must "thread"
  timeout 10000 (threadDelay 9000000) >>= must "timeout" . (== Nothing)
  putStrLn "processes ok"
