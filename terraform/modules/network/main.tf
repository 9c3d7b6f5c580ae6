# A network without a way to the internet: private subnets, and endpoints for the services that are used.

data "aws_availability_zones" "here" {
  #checkov:skip=CKV_AWS_394:the first ones by name are used, and a subnet is known by its zone; a new zone comes last

  state = "available"
}

data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  region  = data.aws_region.this.name
  objects = flatten([for arn in var.bucket_arns : [arn, "${arn}/*"]])
  zones   = slice(data.aws_availability_zones.here.names, 0, var.zones)
}

resource "aws_vpc" "this" {
  cidr_block           = var.cidr
  enable_dns_support   = true
  enable_dns_hostnames = true

  tags = { Name = var.name }
}

# Whoever forgets to name a security group gets one that lets nothing in or out.
resource "aws_default_security_group" "closed" {
  vpc_id = aws_vpc.this.id
}

resource "aws_subnet" "private" {
  for_each = { for n, zone in local.zones : zone => n }

  vpc_id                  = aws_vpc.this.id
  availability_zone       = each.key
  cidr_block              = cidrsubnet(var.cidr, 4, each.value)
  map_public_ip_on_launch = false

  tags = { Name = "${var.name}-private-${each.key}" }
}

# No route but the VPC's own and the gateway endpoint's.
resource "aws_route_table" "private" {
  vpc_id = aws_vpc.this.id

  tags = { Name = "${var.name}-private" }
}

resource "aws_route_table_association" "private" {
  for_each = aws_subnet.private

  subnet_id      = each.value.id
  route_table_id = aws_route_table.private.id
}

resource "aws_vpc_endpoint" "s3" {
  vpc_id            = aws_vpc.this.id
  service_name      = "com.amazonaws.${local.region}.s3"
  vpc_endpoint_type = "Gateway"
  route_table_ids   = [aws_route_table.private.id]
  policy            = data.aws_iam_policy_document.buckets.json

  tags = { Name = "${var.name}-s3" }
}

# What runs here reaches no other bucket, so it can copy nothing into one; roles say who may do what in these.
data "aws_iam_policy_document" "buckets" {
  statement {
    sid       = "Own"
    actions   = ["s3:*"] # roles narrow it
    resources = local.objects

    principals {
      type        = "*"   # whoever is in this network
      identifiers = ["*"] # the same
    }
  }

  statement {
    sid       = "LayersOfImages"
    actions   = ["s3:GetObject"]
    resources = ["arn:${data.aws_partition.this.partition}:s3:::prod-${local.region}-starport-layer-bucket/*"] # of ECR

    principals {
      type        = "*"   # whoever is in this network
      identifiers = ["*"] # the same
    }
  }
}

resource "aws_vpc_endpoint" "interface" {
  for_each = setunion(var.endpoints, var.airflow_endpoints)

  vpc_id              = aws_vpc.this.id
  service_name        = "com.amazonaws.${local.region}.${each.key}"
  vpc_endpoint_type   = "Interface"
  private_dns_enabled = true
  subnet_ids          = [for subnet in aws_subnet.private : subnet.id]
  security_group_ids  = [aws_security_group.this["endpoints"].id]

  tags = { Name = "${var.name}-${each.key}" }
}
