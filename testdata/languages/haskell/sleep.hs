import Control.Concurrent (threadDelay)

main :: IO ()
main = threadDelay 60000000
