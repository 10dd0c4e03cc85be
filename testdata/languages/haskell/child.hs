import System.Process (readProcess)

main :: IO ()
main = readProcess "echo" ["from a child"] "" >>= putStr
