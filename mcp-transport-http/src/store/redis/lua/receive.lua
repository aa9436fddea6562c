-- ARGV: node, how long it is alive from now, the last frame that it has got, the bytes sent with that, and bytes to take.
-- Answers whether its inbox is a new one, and the frames: id, bytes sent with it, and the frame, of each.
local node, liveness, last, total, most = unpack(ARGV)
for _, dead in ipairs(redis.call('ZRANGEBYSCORE', NODES, '-inf', now(), 'LIMIT', 0, 16)) do bury(dead) end
local fresh = redis.call('ZADD', NODES, now() + liveness, node)
local frames, numbers = inbox(node)
if fresh == 1 then
  redis.call('UNLINK', frames, numbers)
  last = '0-0'
end
if last ~= '0-0' then
  redis.call('XTRIM', frames, 'MINID', last)
  redis.call('XDEL', frames, last)
  if redis.call('EXISTS', numbers) == 1 and tonumber(redis.call('HGET', numbers, 'a') or 0) < tonumber(total) then
    redis.call('HSET', numbers, 'a', total)
  end
end
redis.call('PEXPIRE', frames, liveness + 1000)
redis.call('PEXPIRE', numbers, liveness + 1000)
local answer, taken = {fresh}, 0
while taken < tonumber(most) do
  local entries = redis.call('XRANGE', frames, '(' .. last, '+', 'COUNT', 4)
  if #entries == 0 then break end
  for _, entry in ipairs(entries) do
    last = entry[1]
    taken = taken + #entry[2][2]
    answer[#answer + 1] = last
    answer[#answer + 1] = entry[2][4]
    answer[#answer + 1] = entry[2][2]
  end
end
return answer
