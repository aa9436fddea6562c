local _, node, lease = unpack(ARGV)
local holder, version = find()
if holder == nil then return {} end
if holder and holder ~= node then
  local left = redis.call('PTTL', LEASE)
  if left >= 0 then return {holder, math.max(left, 1)} end
  redis.call('HSET', SESSION, 'd', 1)
end
redis.call('HSET', SESSION, 'n', node)
redis.call('SET', LEASE, node, 'PX', lease)
put_off(lease)
version = redis.call('HINCRBY', SESSION, 'v', 1)
return {version, redis.call('HEXISTS', SESSION, 'd'), redis.call('HGET', SESSION, 's')}
