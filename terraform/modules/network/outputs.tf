output "vpc_id" {
  description = "Id of the VPC"
  value       = aws_vpc.this.id
}

output "subnet_ids" {
  description = "Ids of the private subnets, one per zone, in the order of the zones"
  value       = [for zone in local.zones : aws_subnet.private[zone].id]
}

output "groups" {
  description = "Role => id of its security group: brokers, jobs, trino, balancer, airflow, endpoints"
  value       = { for who, group in aws_security_group.this : who => group.id }
}
