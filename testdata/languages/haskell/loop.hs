import Data.IORef (modifyIORef', newIORef)
import Control.Monad (forever)

main :: IO ()
main = do
  count <- newIORef (0 :: Int)
  forever (modifyIORef' count (+ 1))
